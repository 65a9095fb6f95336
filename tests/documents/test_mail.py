from __future__ import annotations

from email.message import EmailMessage

import pytest

from tests.documents.make import pdf, place_of


def mail(subject: str, text: str, html: str = "", **attached: bytes) -> EmailMessage:
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = "Änna Lind <anna@x.org>", "hugo@x.org", subject
    made["Date"] = "Tue, 05 Mar 2024 10:00:00 +0100"
    if text:
        made.set_content(text)
    if html:
        made.add_alternative(html, subtype="html")
    for name, data in attached.items():
        made.add_attachment(data, maintype="application", subtype="octet-stream", filename=name.replace("_", "."))
    return made


EVENT = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Board\nEND:VEVENT\nEND:VCALENDAR"
HEAD = "From: Änna Lind <anna@x.org>\nTo: hugo@x.org\nDate: Tue, 05 Mar 2024 10:00:00 +0100\nSubject: "


def test_a_mail_with_its_attachments(read) -> None:
    sheet = b"Name,Room\nAnna,12\n"
    attached = {"plan_pdf": pdf(b"The plan"), "rooms_csv": sheet, "p_png": b"\x89PNG"}
    document = read("a.eml", bytes(mail("Crane", "It comes on Thursday.\n", **attached)))
    assert document.text == f"{HEAD}Crane\n\nIt comes on Thursday.\n\nThe plan\n\n| Name | Room\nAnna | 12"
    assert [mark.section for mark in document.marks] == ["Crane", "plan.pdf", "rooms.csv"]
    assert document.title == "Crane"
    assert document.notes == ("attachment p.png: a picture, on which no text was recognised",)


def test_one_of_markup_alone(read) -> None:
    document = read("a.eml", bytes(mail("Hello", "", "<p>Dear <b>all</b></p><ul><li>one</ul>")))
    assert document.text == f"{HEAD}Hello\n\nDear all\n\n- one"


def test_text_below_a_picture_and_what_another_form_alone_has(read) -> None:
    made = EmailMessage()
    made.make_alternative()
    plain, shown = EmailMessage(), EmailMessage()
    plain.set_content("Above. Below.")
    shown.make_mixed()
    for part in (mail("", "", "<p>Above.</p>"), mail("", "", "<p>Below.</p>")):
        shown.attach(part)
    shown.add_attachment(pdf(b"The plan"), maintype="application", subtype="pdf", filename="plan.pdf")
    made.attach(plain)
    made.attach(shown)
    assert read("a.eml", bytes(made)).text == "Above. Below.\n\nThe plan", "as a Mac's program writes mails"
    made = mail("Crane", "It comes on Thursday.", rooms_csv=b"Name,Room\nAnna,12\n")
    for text, kind in (("Bring the keys.", "plain"), ("<p>A list's <b>word</b></p>", "html")):
        more = EmailMessage()
        more.set_content(text, subtype=kind)
        made.attach(more)
    document = read("b.eml", bytes(made))
    assert document.text.endswith("\nAnna | 12\n\nBring the keys.\n\nA list's word")
    assert place_of(document, "keys").section == "Crane"
    made = mail("Crane", "Your program shows no HTML.", "<p>The crane costs 450 euros, and comes in May.</p>")
    assert read("c.eml", bytes(made)).text == f"{HEAD}Crane\n\nThe crane costs 450 euros, and comes in May."
    table = "<p>It comes in May.</p><table><tr><th>Item<th>Sum<tr><td>Hire<td>450"
    made = mail("Crane", "It comes in May. We say when.", table)
    assert read("d.eml", bytes(made)).text == f"{HEAD}Crane\n\nIt comes in May.\n\n| Item | Sum\nHire | 450"
    made = mail("Crane", "It comes in May, www.x.org", "<p>It comes <b>in May</b></p>")
    assert read("e.eml", bytes(made)).text == f"{HEAD}Crane\n\nIt comes in May, www.x.org"


@pytest.mark.parametrize(("head", "parts", "text"), [
    ("multipart/alternative", ["text/plain\n\nCome.", "text/html\n\n<p>Come", "text/calendar\n\n" + EVENT],
     "Come.\n\nSummary: Board"),
    ("multipart/mixed", [f"text/calendar\n\n{EVENT}", f"application/ics; name=i.ics\n\n{EVENT}"], "Summary: Board"),
    ("multipart/signed", ["text/plain\n\nA", "a/pgp; name=s.asc\n\nx", "text/plain\n\nB"], "A\n\nB"),
])  # fmt: skip
def test_invitations_and_signatures(read, head: str, parts: list[str], text: str) -> None:
    body = "".join(f"\n--b\nContent-Type: {part}\n" for part in parts)
    document = read("a.eml", f"Subject: x\nContent-Type: {head}; boundary=b\n{body}--b--".encode())
    assert document.text == f"Subject: x\n\n{text}"


@pytest.mark.parametrize(("data", "text"), [
    ("From: a@b.c (Jürgen: Rau), d@e.f\n\nx", 'From: "Jürgen: Rau" <a@b.c>, d@e.f\n\nx'),
    ("Content-Type: multipart/mixed;\n boundary=--=_N\n\n----=_N\n\nA\n----=_N--", "A"),
    ("Content-Type: multipart/mixed\n\n--b\n\nA", "--b\n\nA"), ("Subject: x\n\nEnvoyé", "Subject: x\n\nEnvoyé"),
    ("Content-Type: text/html; charset=us-ascii\n\n<p>Envoyé €", "Envoyé €"),
    ("Content-Type: text/plain; charset=iso-8859-1\n\n\udc80", "€"), ("Subject: x\n\n\udc80", "Subject: x\n\n€"),
    ("Content-Type: text/plain; format=flowed; DelSp=Yes\n\nnum \n ber \ns\n-- \nX", "numbers\n-- \nX"),
    ("Content-Type: message/news\n\nSubject: x\n\nA", "Subject: x\n\nA"),
    ("Content-Type: message/global\nContent-Transfer-Encoding: base64\n\nU3ViamVjdDogeAoKQQ==", "Subject: x\n\nA"),
    ("Content-Type: message/delivery-status\n\nA: 1\n\nB: 2\nC: 3\n", "A: 1\n\nB: 2\nC: 3"),
])  # fmt: skip
def test_old_and_broken_mails_and_reports(read, data: str, text: str) -> None:
    assert read("a.eml", data.encode("utf-8", "surrogateescape")).text.strip() == text


def test_a_mailbox_is_its_mails(read) -> None:
    start = b"From a@b Tue Mar  5 10:00:00 2024\n"
    document = read("a.mbox", b"".join(start + bytes(mail(name, f">From {name}\n")) + b"\n" for name in "xy"))
    assert document.text == f"{HEAD}x\n\nFrom x\n\n{HEAD}y\n\nFrom y"
    assert [mark.section for mark in document.marks] == ["x", "y"]
    assert document.title == "a"


def test_mails_within_mails_end(read) -> None:
    made = mail("0", "deepest")
    for depth in range(1, 6):
        outer = mail(str(depth), f"level {depth}")
        outer.add_attachment(made)
        made = outer
    document = read("a.eml", bytes(made))
    assert "level 3" in document.text
    assert "level 2" not in document.text
    assert document.notes == ("a mail that is attached to an attached one was not read",)
    assert document.title == "5"
    many = mail("many", "text", **{f"a{number}_txt": b"x" for number in range(150)})
    notes = read("b.eml", bytes(many)).notes
    assert len(notes) == 50
    assert all("as there are many" in note for note in notes)


@pytest.mark.parametrize("data", [
    b"Subject: x\nContent-Type: text/plain; charset=nonsense\n\nbody",
    b"Subject: x\nContent-Transfer-Encoding: base64\n\nbody",
    b"Subject: =?utf-8?q?=FF=FE?=\nFrom: <<<>>>\nDate: never\n\nbody",
    b"Subject: x\nContent-Type: multipart/mixed\n\nbody",
    b"Subject: x\nContent-Type: multipart/mixed; boundary=b\n\nbody\n--b\n"
    + b"Content-Type: multipart/mixed; boundary=b\n\n--b\n" * 500,
    b"Subject: " + b"x" * 1_000_000 + b"\n\nbody", b"\x00\xff" * 1000 + b"\n\nbody",
])  # fmt: skip
def test_hostile_mails_are_read_as_far_as_they_go(read, data: bytes) -> None:
    document = read("a.eml", data)
    assert document.text.strip()


def test_without_text_it_is_empty(refuse) -> None:
    assert "empty" in str(refuse("a.eml", b"\n\n"))
    assert "empty" in str(refuse("a.eml", b"Content-Type: message/rfc822\n\n" * 2000 + b"body"))


def test_events_of_a_calendar(read) -> None:
    event = "DTSTART;TZID=Europe/Paris:20260305T140000\r\nSUMMARY:Board\\, spring\r\nLOCATION:Room\r\n  4\r\n"
    alarm = "BEGIN:VALARM\r\nDESCRIPTION:no\r\nEND:VALARM\r\nDTEND:20260305T150000Z\r\n"
    person = 'ATTENDEE;PARTSTAT=DECLINED;CN="Okafor: A":mailto:a@b.c\r\n'
    document = read("a.ics", f"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\n{event}{alarm}{person}END:VEVENT\r\nEND:VCALENDAR")
    assert document.text.split("\n") == [
        "Summary: Board, spring", "Start: 2026-03-05 14:00 (Europe/Paris)", "End: 2026-03-05 15:00 (UTC)",
        "Place: Room 4", "Attendee: Okafor: A (declined)",
    ]  # fmt: skip
    assert document.section(0) == "Board, spring"
    days = "DTSTART;VALUE=DATE:20260301\nDTEND;VALUE=DATE:20260303\n"  # the first day after the event
    assert "End: 2026-03-02" in read("b.ics", f"BEGIN:VCALENDAR\nBEGIN:VEVENT\n{days}END:VEVENT\n").text

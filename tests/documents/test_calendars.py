"""Calendars."""


def test_events_of_a_calendar(read) -> None:
    event = "DTSTART;TZID=Europe/Paris:20260305T140000\r\nSUMMARY:Board\\, spring\r\nLOCATION:Room\r\n  4\r\n"
    alarm = "BEGIN:VALARM\r\nDESCRIPTION:no\r\nEND:VALARM\r\nDTEND:20260305T150000Z\r\n"
    person = 'ATTENDEE;CN="Okafor: A":mailto:a@b.c\r\n'
    document = read("a.ics", f"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\n{event}{alarm}{person}END:VEVENT\r\nEND:VCALENDAR")
    assert document.text.split("\n") == [
        "Summary: Board, spring", "Start: 2026-03-05 14:00 (Europe/Paris)", "End: 2026-03-05 15:00 (UTC)",
        "Place: Room 4", "Attendee: Okafor: A",
    ]  # fmt: skip
    assert document.section(0) == "Board, spring"

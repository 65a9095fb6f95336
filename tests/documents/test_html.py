from __future__ import annotations

import time

import pytest

PAGE = """<!doctype html><html><head><title>The  Page</title><style>p{}</style></head><body>
<nav>menu</nav><p>Before &amp; <b>bold</b>er&nbsp;x<p>Second<br>line
<h1>Part <i>One</i></h1><ul><li>a</li><li>b</ul><script>"<p>no</p>"</script><noscript>no</noscript>
<table><tr><th>H1<th>H2</tr><tr><td><p>1</p></td><td></td></tr></table>tail
<pre>  x\n    y</pre><template>no</template></body></html>"""


def test_a_page(read) -> None:
    document = read("a.html", PAGE)
    assert document.text == (
        "Before & bolder x\n\nSecond\nline\n\nPart One\n\n- a\n- b\n\n| H1 | H2\n1 |\n\ntail\n\n  x\n    y"
    )
    assert [mark.section for mark in document.marks] == ["The Page", "Part One"]
    start = document.text.index("Part One")
    assert document.place(start, start + 5).section == "Part One"
    assert document.place(start - 3, start).section == "The Page"
    assert document.place(start, start + 5).line is None  # an editor shows other lines


def test_content_names_it_where_the_name_does_not(read) -> None:
    assert read("page", "\n<!-- a --><!DOCTYPE HTML><p>x").text == "x"
    assert read("a.txt", "<html><p>x").text == "<html><p>x"


BLOCK = "<i style='display:inline-block'>"


@pytest.mark.parametrize(("markup", "text"), [
    ("just text", "just text"),
    ("<p>no body", "no body"),
    ('<?xml version="1.0" encoding="utf-8"?><html><head><title/><script/></head><p>é<a id="x"/>é', "éé"),
    ("<p>a&#xD800;b&#0;c&bogus;", "a\ufffdb\ufffdc&bogus;"),
    ("<h1>unclosed<p>text", "unclosed\n\ntext"),
    ("<table><tr><td><p>A</p><p>B</p></td><td>C</td></tr></table>", "A\n\nB\n\nC"),
    ("soft\u00adhy&shy;phen", "softhyphen"),
    ("<div><nav>x</div>y", "y"),
    ("<p>a<br><br><br><br>b", "a\n\nb"), ("a<svg><title>T</title><desc>D</desc><text>b</text></svg>", "ab"),
    ("<ruby>漢<rt>かん</ruby>字<ruby>字<rp>（</rp><rt>じ</rt><rp>）</rp></ruby>", "漢(かん)字字（じ）"),
    ("<math><mfrac><mn>3</mn><mn>4</mn></mfrac></math> of<math display=block><mi>x</mi></math>it", "3/4 of x it"),
    ("(<m:math><m:mi>x</m:mi></m:math>)<math><mi>y", "(x)y"),
    ("so <i><math><mn>5</mn></math></i><b aria-hidden=true><b>5</b>5</b> a <object type=image/svg+xml>n</object>b",
     "so 5 a b"), ("so <b aria-hidden=true><i>x</i>2</b><i><math><mi>x</mi></math></i> is", "so x is"),
    ("<style>.f{display:flex}</style><p class=f><b>A</b><b>20</b><div class=f><div>I</div><div>3", "A 20\n\nI 3"),
    ("<i style='display:inline-block;width:3em'>Bed 3</i><i style='display:block'>5</i>6", "Bed 3\n5\n6"),
    (f"{BLOCK}Net</i>{BLOCK}5</i>{BLOCK}W</i>{BLOCK}on</i>, ({BLOCK}7</i>).", "Net 5 Won, (7)."),
    ("<p class=x>a<iframe srcdoc='<style>.x{display:none}</style><h1>Fee<p class=x>no<iframe srcdoc=5>'>b</iframe> c",
     "a\n\nFee\n\nc"), ("a<iframe hidden srcdoc=b></iframe><iframe src=x></iframe>c", "ac"),
    ("<table><tr><td>A<td><img alt=Yes><td>5<img alt=no><tr><td><iframe srcdoc='<p>B<p>b'></iframe><td>6<td>7</table>",
     "A | Yes | 5\nB b | 6 | 7"), ("<table role=presentation><tr><td><img alt=Logo><td>x</table>", "x"),
    ("<span hidden><math><mn>1</mn></math></span><img>, <i hidden>no <math><mn>5</mn></math></i>2", "1, 2"),
    ("<p>It is $450<sup>1</sup>.", "It is $450 [1]."), ("<p>36 m<sup>2</sup>", "36 m²"),
    ("<p>H<sub>2</sub>O", "H₂O"), ("<p>1<sup>st</sup>", "1st"),
    ("<p>In 1912<a epub:type=noteref>3</a> 50<a role=doc-noteref><sup>4</sup></a><a> 5</a>", "In 1912 [3] 50 [4] 5"),
    ("<p>m<sup><a href=#n>2</a></sup>", "m [2]"), ("<p>x<p><sup>1</sup>By bank", "x\n\n[1] By bank"),
    ("<p>450<span style='vertical-align:super'>2</span> a", "450 [2] a"),
    ("<p><table><tr><td>Rent<sup>1</sup><td>10 m<sup>2</sup></table>", "Rent [1] | 10 m²"),
    ("<ol><li>a<li><p>b</p><p>more</p></li></ol><ol start=4><li>c</ol>", "1. a\n\n2. b\n\nmore\n\n4. c"),
    ("<ul><li>a<ol><li>b<li>c</ol><li>d</ul>", "- a\n\n  1. b\n  2. c\n\n- d"),
    ("<ol><li>2) own<li>• too<li>- and</ol>", "2) own\n• too\n- and"),
    ("<ul><li>1.1 kg flour<li>St. Mary</ul>", "- 1.1 kg flour\n- St. Mary"),
    ("<ol type=a><li>x<ol type=I start=4><li>y</ol></ol>", "a. x\n\n  IV. y"),
    ("<ol><li></li><li><h2>Head</h2>x</ol>", "Head\n\nx"),
    ("<li>alone</ol></ul><ol start=x><li>a</ol><ol start=" + "9" * 5000 + "><li>b</ol>", "- alone\n\n1. a\n\n1. b"),
    ("<dl><dt>a<dd>b</dl>", "a\nb"), ("<p>x<dl><dd><p>y</dl>", "x\n\ny"),
    ("<dl><dt><p>a</p><dd><p>b</p><p>c</p><dt>d<dd><div>e</div></dl><p>f", "a\nb\n\nc\n\nd\ne\n\nf"),
    ("<ol start=-1><li>a<li>b<li value=9>c<li>d</ol>", "-1. a\n0. b\n9. c\n10. d"),
    ("<ol reversed><li>a<ul class=reversed><li>x</ul><li>b</ol><ol reversed start=9>y", "2. a\n\n  - x\n\n1. b\n\ny"),
    ("<style>.n{list-style:upper-roman inside}</style><ol class=n><li>a<li type=a>b</ol>", "I. a\nb. b"),
    ("<ol style='list-style-type:none'><li>a</ol><ul style='list-style:none'><li>b<li>c</ul>", "a\n\n- b\n- c"),
    ("Before<table><tr><th><th>A<th>B</tr><tr><th>1<td>2<td>3</tr><tr><th>x<th>y<th>z</table>"
     "<table><tr><th>Born<td>1950</tr><tr><th colspan=2>Works</table>",
     "Before\n\n| | A | B |\n1 | 2 | 3\nx | y | z\n\nBorn | 1950\nWorks"),
])  # fmt: skip
def test_odd_markup_lists_and_tables_as_a_browser_shows_them(read, markup: str, text: str) -> None:
    assert read("a.html", markup).text == text


@pytest.mark.parametrize(("markup", "message"), [
    ("<html></html>", "empty"), ("<!-- x -->", "empty"), ("<script>x</script>", "empty"), ("<p> </p>", "empty"),
    ("<div>" * 200_000 + "x", "deep"),
])  # fmt: skip
def test_a_page_without_text_or_too_deep_is_refused(refuse, markup: str, message: str) -> None:
    assert message in str(refuse("a.html", markup))


@pytest.mark.parametrize("markup", [
    "<div>" * 9_000, "<!--" * 100_000, "<a " * 100_000, "<b><i>" * 4_000 + "</b></i>" * 4_000,
    "<table><tr><td>" * 3_000, "<table>" + "<tr><td>1</td><td>2</td></tr>" * 30_000, "<br>" * 100_000,
    "&#" * 100_000, "<a " + "b=1 " * 100_000 + ">", "<pre>" + " " * 300_000, "<!---->" * 50_000,
    "<math>" * 9_000 + "</math>" * 50_000, "<math>" + "<msup>" * 3_000 + "</math>", "<ol reversed><li>" * 3_000,
    "<iframe srcdoc='<p>x'>" * 20_000, "<iframe srcdoc=\"" * 50_000,
])  # fmt: skip
def test_hostile_markup_costs_no_more_than_its_length(read, markup: str) -> None:
    began = time.process_time()
    assert read("a.html", "<p>x</p>" + markup).text.startswith("x")
    read("page", "<!doctype html><p>x</p>" + markup)
    read("other", "x" + markup)
    assert time.process_time() - began < 5


HEAD = (
    "<style>.old{text-decoration:line-through} p.gone, #x{display:none} "
    ".sr{position:absolute;clip:rect(0,0,0,0)}</style>"
)


@pytest.mark.parametrize(("markup", "text", "note"), [
    ("<style><!-- .x{display:none} --></style><style media=print>p{display:none}</style><p>b<b class=x>a</b>", "b",
     "1 hidden passage"),
    ("<p hidden>a<p>b", "b", "1 hidden passage"),
    ("<div style='display:none'><p>a<p>x</div>b", "b", "1 hidden passage"),
    ("<p class=gone>a<p id=x>a<p>b<b class=sr>twin</b>", "b", "3 hidden passages"), ("<p hidden> <p>b", "b", ""),
    ("<p>EUR <s>1</s> <del>2</del> <strike>3</strike> <b class=old>4</b> 5", "EUR 5", "4 struck-out passages"),
    ("<ul><li>a<li hidden>x<li>b</ul>", "- a\n- b", "1 hidden passage"),
    ("<table><tr><th>A<th>B<tr><td>1<td>2<tr hidden><td>3<td>4</table>", "| A | B\n1 | 2", "1 hidden passage"),
    ("<table><tr><td>a<td style='display:none'>x<td>b</table>", "a | b", "1 hidden passage"),
    ("<p>a<span aria-hidden=true>|</span>b", "a|b", ""),
    ("<p><i aria-hidden=true>5/5</i> <i>5/5</i> stars", "5/5 stars", ""),
    ("<p>Price: <i>110</i><i aria-hidden=true>110</i>", "Price: 110", ""),
    ("<p aria-hidden=true>97<p>98", "97\n\n98", ""),
])  # fmt: skip
def test_what_no_browser_shows_is_left_out_with_a_note(read, markup: str, text: str, note: str) -> None:
    document = read("a.html", f"<html><head>{HEAD}</head><body>{markup}")
    assert document.text == text
    assert [one.partition(" w")[0] for one in document.notes] == [note] * bool(note)


def test_what_is_filled_in_and_chosen(read) -> None:
    fields = (
        'Name: <input value="Okafor"> <input type=checkbox checked> Parking <input type=radio> Cash '
        "<select><option>Pick<option selected>Ghana</select><select><option>One<option>Two</select> "
        "<textarea>Ring</textarea><button>twice</button><select multiple><option>S</select><input type=hidden value=s>"
    )
    document = read("a.html", f"<p>{fields}")
    assert document.text == "Name: Okafor [x] Parking [ ] Cash Ghana One Ring twice"
    assert document.notes == ("3 unchosen options were left out",)

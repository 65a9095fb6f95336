"""Tables of pages."""

import pytest


@pytest.mark.parametrize(("table", "text"), [
    ("<tr><td><h2>Head</h2><p>text</td></tr>", "Head\n\ntext"), ("<tr><td>one cell</tr>", "one cell"),
    ("<tr><td><p>a<p>b<td><p>c<p>d</tr>", "a\n\nb\n\nc\n\nd"), ("<tr><td><p>1</p><td><p>2</p></tr>", "1 | 2"),
    ("<tr><td>(d)<td><table><tr><td>(i)<td>name it<tr><td>(ii)<td>reply</table></tr>", "(d) (i) name it\n\n(ii) reply"),
    ("<tr><th>A<th>B<tr><td><p>a<p>b<td>c", "| A | B\na b | c"),
    ("<tr><th>A<th>B<tr><td>x<td><table><tr><td>c<td>d<tr><td>e<td>f</table>", "| A | B\nx | c d; e f"),
    ("<tr><td>Name<td>Sum<tr><td><p>a<p>b<td>1<tr><td><p>c<p>d<td>2", "| Name | Sum\na b | 1\nc d | 2"),
    (f"<tr><td>{'long ' * 40}<p>a<td>b<tr><td>c<p>d<td>e", f"{('long ' * 40).strip()}\n\na\n\nb\n\nc\n\nd\n\ne"),
    ("<tr><th>Key<td>Value<tr><th>x<td>y", "Key | Value\nx | y"),
])  # fmt: skip
def test_tables_that_place_text_are_text(read, table: str, text: str) -> None:
    assert read("a.html", f"<table>{table}</table>").text == text

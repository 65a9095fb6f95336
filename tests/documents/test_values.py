"""Values in a text, which are whole or another one."""

from __future__ import annotations

import pytest

from wim_edge.documents.values import whole_value


@pytest.mark.parametrize(
    ("text", "part", "value"),
    [
        ("IBAN DE44 6805 0101 0012 3456 78, BIC", "6805", "DE44 6805 0101 0012 3456 78"),
        ("Call +49 761 55012-0 or write", "55012", "+49 761 55012-0"),
        ("Tel. (0203) 555 0134.", "555", "(0203) 555 0134"),
        ("Order BW-2024-00731 of May", "2024", "BW-2024-00731"),
        ("accounts@helio.example", "helio", "accounts@helio.example"),
        ("Total 1,537.48 EUR", "537", "1,537.48"),
        ("due: 16 April 2026 (30 days net)", "April 2026", "16 April 2026"),
        ("due: 16 April 2026 (30 days net)", "2026", "2026"),
        ("desde el 3 de mayo de 1999", "mayo", "3 de mayo de 1999"),
        ("It was built in 1921.", "1921", "1921"),
        ("muss bis 10. Juni leer sein", "Juni", "10. Juni"),
        ("open from May 12 on", "May", "May 12"),
        ("Section 5 may be waived", "may be", "may be"),
        ("The fee is 45. After 2020 it rises.", "45", "45"),
        ("Room 5 holds 1200 books.", "Room 5", "Room 5"),
        ("€2.500,50. Call 0800 123 456", "€2.500,50", "€2.500,50"),
        ("on 1 April. All", "1 April", "1 April"),
        ("If ASN1_ALLOW_PADDING is set", "PADDING", "ASN1_ALLOW_PADDING"),
        ("It is _very_ important", "very", "very"),
    ],
)
def test_half_a_value_is_widened_to_all_of_it(text: str, part: str, value: str) -> None:
    at = text.index(part)
    start, end = whole_value(text, at, at + len(part))
    assert text[start:end] == value

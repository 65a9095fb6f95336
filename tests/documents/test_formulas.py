"""Formulas of Word, and of MathML, on one line."""

from __future__ import annotations

import pytest
from lxml import etree

from wim_edge.documents.formulas import linear

FORMULAS = """
<mn>2</mn><mrow><mfrac><mn>3</mn><mn>4</mn></mfrac></mrow><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup> ⟶ 2 3/4 mc²
<mfrac><mrow><mi>x</mi><mo>+</mo><mn>1</mn></mrow><mrow><mn>2</mn><mi>x</mi></mrow></mfrac> ⟶ (x+1)/(2x)
<msub><mi>x</mi><mi>i</mi></msub><mi>y</mi><mo>=</mo><msup><mi>z</mi><mo>′</mo></msup> ⟶ x_i y=z′
<msqrt><mi>x</mi><mo>+</mo><mn>1</mn></msqrt><mo>+</mo><mn>2</mn><mroot><mn>8</mn><mn>5</mn></mroot> ⟶ √(x+1)+2 ⁵√8
<semantics><mi>x</mi><!-- c --><annotation>x</annotation></semantics><mfenced><mi>y</mi><mi>z</mi></mfenced> ⟶ x(y,z)
<mi>A</mi><mi>red</mi><mi>box</mi><mo>:</mo><mi>Na</mi><mi>Cl</mi> ⟶ A red box:NaCl
<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><mi>i</mi> ⟶ ∑_(i=1)^n i
<mtable><mtr><mtd>1</mtd><mtd>2</mtd></mtr><mtr><mtd>3</mtd></mtr></mtable><mfrac><mn>4</mn></mfrac> ⟶ 1 2; 34
<mi>sin</mi><mo>⁡</mo><mi>x</mi><f><num><t>n</t></num><den><t>k+1</t></den></f> ⟶ sin x n/(k+1)
<d><dPr><begChr m:val="["/></dPr><e><t>a</t></e><e><t>b</t></e></d><rad><deg/><e><t>2a</t></e></rad> ⟶ [a|b)√(2a)
<nary><naryPr><chr m:val="∑"/></naryPr><sub><t>i</t></sub><sup/><e><t>a</t></e></nary><nary><sub/></nary> ⟶ ∑_i a∫
<func><fName><t>ln</t></fName><e><t>2</t></e></func><sSup><e/><sup><t>∞</t></sup></sSup><del><t>3</t></del> ⟶ ln 2^∞
"""


@pytest.mark.parametrize("formula", FORMULAS.strip().splitlines())
def test_formulas_are_written_on_one_line(formula: str) -> None:
    markup, text = formula.split(" ⟶ ")
    assert linear(etree.fromstring(f'<math xmlns="a" xmlns:m="b">\n{markup}\n</math>')) == text
    assert linear(etree.fromstring("<e>" * 250 + "x" + "</e>" * 250)) == "x"

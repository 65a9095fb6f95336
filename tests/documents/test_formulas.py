"""Formulas of Word, and of MathML, on one line."""

from __future__ import annotations

import pytest
from lxml import etree

from wim_edge.documents.formulas import linear

FORMULAS = """
<mfrac><mn>3</mn><mn>4</mn></mfrac> ⟶ 3/4
<mn>2</mn><mrow><mfrac><mn>3</mn><mn>4</mn></mfrac></mrow> ⟶ 2 3/4
<msup><mn>10</mn><mn>6</mn></msup><mspace/><mi>s</mi> ⟶ 10⁶ s
<mfrac><mn>1</mn><mn>2</mn></mfrac><mi>m</mi><msup><mi>x</mi><mrow><mo>−</mo><mn>1</mn></mrow></msup> ⟶ 1/2 mx⁻¹
<mfrac><mrow><mi>x</mi><mo>+</mo><mn>1</mn></mrow><mrow><mn>2</mn><mi>x</mi></mrow></mfrac> ⟶ (x+1)/(2x)
<msub><mi>x</mi><mi>i</mi></msub><mi>y</mi><mo>=</mo><msup><mi>z</mi><mo>′</mo></msup> ⟶ x_i y=z′
<msqrt><mi>x</mi><mo>+</mo><mn>1</mn></msqrt><mo>+</mo><mn>2</mn><mroot><mn>8</mn><mn>5</mn></mroot> ⟶ √(x+1)+2 ⁵√8
<semantics><mi>x</mi><!-- c --><annotation>x</annotation></semantics><mfenced><mi>y</mi><mi>z</mi></mfenced> ⟶ x(y,z)
<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><mi>i</mi> ⟶ ∑_(i=1)^n i
<mtable><mtr><mtd>1</mtd><mtd>2</mtd></mtr><mtr><mtd>3</mtd><mtd>4</mtd></mtr></mtable> ⟶ 1 2; 3 4
<mi>sin</mi><mo>⁡</mo><mi>x</mi><mfrac><mn>1</mn></mfrac> ⟶ sin x1
<f><num><r><t>s</t></r></num><den><r><t>t+2</t></r></den></f> ⟶ s/(t+2)
<f><fPr><type m:val="noBar"/></fPr><num><t>n</t></num><den><t>k</t></den></f> ⟶ n¦k
<sSubSup><e><t>x</t></e><sub><t>1</t></sub><sup><t>2</t></sup></sSubSup> ⟶ x₁²
<d><dPr><begChr m:val="["/></dPr><e><t>a</t></e><e><t>b</t></e></d><rad><deg/><e><t>2a</t></e></rad> ⟶ [a|b)√(2a)
<nary><naryPr><chr m:val="∑"/></naryPr><sub><t>i</t></sub><sup/><e><t>a</t></e></nary> ⟶ ∑_i a
<nary><sub/><e><t>x</t></e></nary><sSup><e><t>2</t></e><sup><t>∞</t></sup></sSup> ⟶ ∫x2^∞
<func><fName><t>ln</t></fName><e><t>2</t></e></func><del><r><t>3</t></r></del> ⟶ ln 2
"""


@pytest.mark.parametrize("formula", FORMULAS.strip().splitlines())
def test_formulas_are_written_on_one_line(formula: str) -> None:
    markup, text = formula.split(" ⟶ ")
    assert linear(etree.fromstring(f'<math xmlns="a" xmlns:m="b">\n{markup}\n</math>')) == text
    assert linear(etree.fromstring("<e>" * 250 + "x" + "</e>" * 250)) == "x"

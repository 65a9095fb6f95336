"""Charts and diagrams of presentations and of texts."""

from __future__ import annotations

import pytest

from tests.documents.make import docx, saved

pptx = pytest.importorskip("pptx")
OFFICE = "http://schemas.openxmlformats.org"
DIAGRAM = (
    f'<dgm:dataModel xmlns:dgm="{OFFICE}/drawingml/2006/diagram" xmlns:a="{OFFICE}/drawingml/2006/main"><dgm:ptLst>'
    "<dgm:pt modelId='1'><dgm:t><a:p><a:r><a:t>Dig</a:t></a:r></a:p></dgm:t></dgm:pt><dgm:pt modelId='0' type='doc'/>"
    "<dgm:pt modelId='2'><dgm:t><a:p><a:r><a:t>Build </a:t></a:r><a:r><a:t>up</a:t></a:r></a:p></dgm:t></dgm:pt>"
    "<dgm:pt modelId='3'><dgm:t><a:p><a:r><a:t>Plan</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst><dgm:cxnLst>"
    "<dgm:cxn srcId='0' destId='2' srcOrd='1'/><dgm:cxn srcId='0' destId='3'/><dgm:cxn srcId='3' destId='1'/>"
    "</dgm:cxnLst></dgm:dataModel>"
)


def charted() -> bytes:
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE

    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    data = CategoryChartData()
    data.categories = ["North", "South"]
    data.add_series("2023", (19.2, 21.4))
    data.add_series("Share", (0.25, None), number_format="0%")
    chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, 100, 100, data).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "Tonnes a day"
    return saved(deck)


def drawn(part: str, name: str = "diagramData") -> bytes:
    """Return a DOCX with this diagram, and a drawing of the diagram with this name."""
    spaces = f'xmlns:dgm="{OFFICE}/drawingml/2006/diagram" xmlns:r="{OFFICE}/officeDocument/2006/relationships"'
    drawing = f'<w:r><w:drawing><dgm:relIds {spaces} r:dm="{name}"/></w:drawing></w:r>'
    return docx(f"<w:p><w:r><w:t>Above.</w:t></w:r>{drawing}</w:p>", diagramData=part)


def test_a_chart_is_a_table_of_its_values(read) -> None:
    assert read("a.pptx", charted()).text == "Tonnes a day\n\n| | 2023 | Share |\nNorth | 19.2 | 25%\nSouth | 21.4 |"


def test_a_diagram_is_a_list_in_the_order_that_is_shown(read) -> None:
    assert read("a.docx", drawn(DIAGRAM)).text == "Above.\n\n- Plan\n  - Dig\n- Build up"


def test_what_is_damaged_or_not_there_costs_no_text(read) -> None:
    assert read("a.docx", drawn("<dgm:")).text == "Above."
    assert read("b.docx", drawn(DIAGRAM, "other")).text == "Above."

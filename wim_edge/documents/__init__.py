"""Documents: reads files as text with pages, sections and character offsets, and splits the text into segments."""

from wim_edge.documents.document import Document, Mark, Place, deduplicate, with_unique_names
from wim_edge.documents.readers import document_of, read_document, read_documents
from wim_edge.documents.segments import Segment, sentences, split

__all__ = [
    "Document", "Mark", "Place", "Segment", "deduplicate", "document_of", "read_document", "read_documents",
    "sentences", "split", "with_unique_names",
]  # fmt: skip

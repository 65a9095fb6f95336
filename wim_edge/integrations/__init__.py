"""Integrations into other programs. Each module serves one program, and needs only that program.

    document_reader.py  documents or a library, asked one question at a time, with places to cite
    langchain.py        a retriever and a chat model
    llama_index.py      a query engine and a retriever
    llm_plugin.py       a model of `llm`
    pyinstaller/        hooks for frozen programs
"""

"""wim-edge within programs of others: each module is of one, and needs that program alone.

    document_reader.py  what they ask for: documents or a library, one question at a time, and places that cite
    langchain.py        a retriever and a chat model
    llama_index.py      a query engine and a retriever
    llm_plugin.py       a model of `llm`
    pyinstaller/        hooks for frozen programs
"""

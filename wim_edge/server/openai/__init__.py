"""Chat and text completions, as clients of OpenAI's API ask for them.

    routes.py    what is asked, and the stream of its answer
    schemas.py   the shapes of requests and replies
    routing.py   whether a conversation asks of documents, and what
"""

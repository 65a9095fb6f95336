"""Chat and text completions, as clients of OpenAI's API ask for them.

    routes.py    the routes, and the stream of an answer
    schemas.py   the shapes of requests and replies
    routing.py   the choice between reading documents and going straight to the model
"""

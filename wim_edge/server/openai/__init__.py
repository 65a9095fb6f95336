"""Chat and text completions, and embeddings, as clients of OpenAI's API ask for them.

    routes.py      the routes of completions, and the stream of an answer
    schemas.py     the shapes of their requests and replies
    routing.py     the choice between reading documents and going straight to the model
    embeddings.py  the route of embeddings
"""

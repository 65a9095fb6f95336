"""The runtime over HTTP, on one's own machine: an API with events as they happen, and a page to read with.

    app.py         puts it together
    guard.py       who may ask: loopback, Host, Origin, token; slow bodies
    desk.py        one thread that owns the model; requests wait in line
    store.py       documents that were given, questions that were asked
    documents.py   routes: give a document, look at it, let go of it
    questions.py   routes: ask, watch, stop, judge margins, ask again
    machine.py     routes: models, saved readings, what the machine is doing
    openai_api.py  routes: chat completions, as OpenAI's clients ask for them (openai_shapes.py, conversations.py)
    child.py       the same desk for a parent process, JSON lines on standard input and output (`wim_edge.worker`)
    mcp_server.py  the Model Context Protocol, on standard input and output
    page/          the page: one HTML file, one script, one style sheet

Only a consumer of `wim_edge.runtime`; needs ``pip install 'wim-edge[server]'``, but for the desk and child.py.
"""

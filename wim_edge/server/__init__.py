"""The runtime over HTTP, on one's own machine: an API with events as they happen, and a page to read with.

    app.py         puts it together
    guard.py       who may ask: loopback, Host, Origin, token; slow bodies
    job_queue.py   one thread that owns the model; requests wait in line
    uploads.py     documents that were given (allowed_files.py: folders whose files may be named)
    history.py     questions that were asked
    documents.py   routes: give a document, look at it, let go of it
    questions.py   routes: ask, watch, stop, judge margins, ask again
    models.py      routes: the models there are, and their downloads
    readings.py    routes: saved readings
    status.py      routes: what the machine is doing, and the settings
    openai/        routes: chat completions, as OpenAI's clients ask for them
    openapi.py     the description of all routes
    worker_protocol.py  the same queue for a parent process, JSON lines on standard streams (`wim_edge.worker`)
    mcp_server.py  the Model Context Protocol, on standard input and output
    page/          the page: one HTML file, one script, one style sheet

It only consumes `wim_edge.runtime`, and needs ``pip install 'wim-edge[server]'`` except for the queue and the worker.
"""

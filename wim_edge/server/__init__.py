"""The runtime over HTTP, for this machine: an API with events as they happen, and a page to read with.

`app` assembles the server, behind `guard`. One thread owns the model (`job_queue`); requests wait in its queue.
`uploads` stores documents, `history` stores questions. The other modules are routes, named after the things they serve.
The same queue serves a parent process (`worker_protocol`) and an assistant (`mcp_server`).

The runtime does not import this package. Only the queue and the worker work without ``pip install 'wim-edge[server]'``.
"""

"""The runtime as an HTTP server for this machine: an API that streams events, and a web page to read with.

`app` assembles the server, behind `guard`. One thread owns the model; requests wait in a queue (`job_queue`). `uploads`
stores documents, `history` stores questions. `documents`, `questions`, `machine` and `openai` have the routes. The same
kind of queue serves a parent process (`worker_protocol`) and an AI assistant (`mcp_server`).

The runtime does not import this package. Without the extra ``[server]``, only `job_queue` and `worker_protocol` work.
"""

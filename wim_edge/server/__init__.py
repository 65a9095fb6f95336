"""The runtime as an HTTP server for this machine: an API that streams events, and a web page to read with.

`app` creates the application; `guard` checks requests. One thread owns the model; requests wait in its queue
(`job_queue`). `uploads` stores documents, `history` stores questions. `documents`, `questions`, `machine` and `openai`
define the routes. `worker_protocol` (for a parent process) and `mcp_server` (for an AI assistant) use the queue too.

The runtime does not import this package. Without the extra ``[server]``, only `job_queue` and `worker_protocol` work.
"""

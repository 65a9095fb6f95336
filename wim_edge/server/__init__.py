"""The runtime over HTTP, for this machine: an API with events as they happen, and a page to read with.

`app` assembles it, behind `guard`. One thread owns the model (`job_queue`); requests wait in line for it. Documents are
in `uploads`, questions in `history`; the other modules are routes, each named after what it serves. The same queue
serves a parent process (`worker_protocol`) and an assistant (`mcp_server`).

It only consumes `wim_edge.runtime`, and needs ``pip install 'wim-edge[server]'`` except for the queue and the worker.
"""

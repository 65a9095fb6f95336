"""The runtime as an HTTP server for this machine: an API that streams events, and a web page to read with.

The runtime does not import this package. Without the extra ``[server]``, only `job_queue` and `worker_protocol` work.
"""

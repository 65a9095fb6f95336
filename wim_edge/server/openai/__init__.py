"""The OpenAI-compatible API: chat completions, text completions and embeddings."""

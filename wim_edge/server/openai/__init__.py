"""Chat and text completions, and embeddings, for clients of OpenAI's API."""

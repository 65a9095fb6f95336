"""wim-edge within programs of others: each module is a plugin of one, and needs that program alone."""

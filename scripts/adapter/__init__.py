"""The parts of `scripts/train_adapter.py`: the model, its file, the data and the training."""

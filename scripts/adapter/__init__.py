"""The parts of `scripts/train_adapter.py`: the model, the adapter's file, the data and the training."""

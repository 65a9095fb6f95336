"""Print the figures of an adapter, or of the plain model, on questions that nothing was trained on.

    python scripts/measure_adapter.py --data ../shared/data --adapter adapter.gguf

Two sets: questions of five articles of SQuAD 2.0 (trained without: `train_adapter.py --hold-out`), and of Natural
Questions on the gold passage and on a hard one that does not answer.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

HELD_OUT = ["1973_oil_crisis", "Packet_switching", "Scottish_Parliament", "French_and_Indian_War", "Force"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--adapter", type=Path, help="the plain model where none is given")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--n", type=int, default=60, help="answerable questions of SQuAD, and as many others")
    parser.add_argument("--n-nq", type=int, default=50, help="questions of Natural Questions")
    parser.add_argument("--show", type=int, default=0, help="questions to show with what came")
    options = parser.parse_args()

    import torch

    from adapter import lora_file, measure
    from adapter.model import Llama
    from adapter.tokenizer import Tokenizer, embedded_model

    torch.set_num_threads(1)
    path = options.model or embedded_model()
    model, lora = Llama(path), None
    if options.adapter:
        lora = lora_file.read(options.adapter)
    for name, asked in (
        ("squad2", measure.squad_set(options.data, HELD_OUT, options.n)),
        ("nq", measure.nq_set(options.data, options.n_nq)),
    ):
        given = measure.ask_all(model, Tokenizer(path), lora, asked)
        figures = {key: round(value, 3) for key, value in measure.figures(asked, given).items()}
        print(name, json.dumps(figures), flush=True)
        for one, got in list(zip(asked, given, strict=True))[: options.show]:
            print(f"  {one.question} | {got.answer} | {got.forced} | {got.log_none:.2f} | {one.gold}")


if __name__ == "__main__":
    main()

"""Sentences that say no."""

from __future__ import annotations

import pytest

from wim_edge.wim.negation import negates, stated, yes_or_no


@pytest.mark.parametrize(
    ("question", "sentence", "run", "does"),
    [
        ("Am I allowed to have a dog?", "Not to keep dogs, reptiles or birds.", "birds", True),
        ("Can I take my car?", "Bicycles are free; cars are not carried.", "cars", True),
        ("Are bicycles taken?", "Bicycles are free; cars are not carried.", "Bicycles", False),
        ("Are dogs allowed?", "Dogs are allowed, but not in the kitchen.", "Dogs", False),
        ("Are dogs not allowed?", "Dogs are not allowed.", "Dogs", False),
        ("Is the pool open?", "The pool is open from May on.", "open", False),
        ("Darf ich rauchen?", "Rauchen ist im Treppenhaus verboten.", "Treppenhaus", True),
        ("Can he come?", "He can’t come.", "He", True),
        ("Can we pay by cheque?", "We no longer take cheques.", "cheques", True),
        ("Can I come at nine?", "Come no later\nthan nine.", "nine", False),
        ("Can I bring it?", "Bags no heavier than yours are taken.", "Bags", False),
        ("Peut-on payer par chèque ?", "Nous n'acceptons plus les chèques.", "chèques", True),
        ("Is it shut on Friday?", "| Fri | training, shut | | nobody! |", "training", False),
    ],
)
def test_what_is_negated(question: str, sentence: str, run: str, does: bool) -> None:
    at = sentence.index(run)
    assert negates(question, sentence, at, at + len(run)) is does


@pytest.mark.parametrize(
    ("question", "sentence", "run", "answer"),
    [
        ("Is the block plane in stock?", "| Block plane | 64.50 | 0 |", "0", False),
        ("Is the block plane in stock?", "| Block plane | 64.50 | 10 |", "10", True),
        ("Is the block plane new?", "| Block plane | 64.50 | 10 |", "10", None),
        ("Is the block plane sold out?", "| Block plane | 64.50 | 0 |", "0", True),
        ("Is telemetry off?", '"telemetry": "off",', "off", True),
        ("Is breakfast included?", "Breakfast: yes", "yes", True),
        ("Is telemetry on?", '"telemetry": false,', "false", False),
        ("May I bring a case of 25 kg?", "Each passenger may bring up to 20 kg of luggage.", "20 kg", False),
        ("Can it run all night?", "Yes. In sleep mode it is quiet.", "sleep", True),
        ("Can it be used in a bathroom?", "No, humidity harms it.", "humidity", False),
        ("Is it new?", "No one knows.", "one", None),
        ("Can I bring 18kg?", "Each passenger may bring up to 20 kg of luggage.", "20 kg", True),
        ("Can I bring 1,500 g?", "No more than 1,000 g may be taken.", "1,000 g", False),
        ("Can I use 1.2.3 beta?", "Programs up to 1.2.10 beta are taken.", "beta", None),
        ("Can I come on 3.5.2026 by bus?", "Up to 30 by bus.", "bus", None),
        ("Can I bring 1,250.50 kg?", "No more than 1,000 kg is taken.", "1,000 kg", False),
        ("Can I stay 25 days?", "Each passenger may bring up to 20 kg.", "20 kg", None),
        ("Darf ich 3 Tage bleiben?", "Gäste dürfen höchstens 2 Tage bleiben.", "2 Tage", False),
        ("Is the limit 20 kg?", "Each passenger may bring up to 30 kg.", "30 kg", None),
    ],
)
def test_what_is_stated(question: str, sentence: str, run: str, answer: bool | None) -> None:
    at = sentence.rindex(run)
    assert stated(question, sentence, at, at + len(run)) is answer


@pytest.mark.parametrize(
    ("question", "sentence", "log_odds", "is_yes", "is_borne"),
    [
        ("Are dogs allowed?", "Dogs must be on a leash.", -2.5, False, False),  # the model's no, and no word's
        ("Are dogs allowed?", "Dogs are welcome.", -0.3, True, True),
        ("Are dogs allowed?", "Dogs are not allowed.", -1.0, False, True),
        ("Are dogs allowed?", "Dogs are not allowed.", 2.0, False, True),
        ("Are dogs allowed?", "Dogs are not allowed.", 3.0, True, False),
        ("Are dogs allowed?", "Dogs are no longer banned.", 2.0, True, False),
        ("Is smoking banned?", "Smoking is not allowed.", -1.0, False, False),
        ("Is the well open?", "The well has been closed since May.", -0.2, False, True),
        ("Is the well open?", "The well has been closed since May.", 0.2, True, False),
        ("Is the well open?", "The well is open; the gate is closed.", 0.2, True, True),
        ("Is the well closed?", "The well has been closed since May.", 2.0, True, True),
        ("Did the war end in 1945?", "The war ended in 1945.", 0.3, True, True),
        ("Ist das Bad zu?", "Das Bad ist geschlossen.", 0.3, True, True),
        ("Are bees allowed?", "Bees may be kept on plots 30 to 42 only.", 2.0, True, False),
        ("Is it on Sundays only?", "It runs on Sundays only.", 2.0, True, True),
        ("Is it up to date?", "Lists are up to date.", 2.0, True, True),
        ("Can I bring a bag?", "Bags of up to 20 kg are carried.", 2.0, True, True),
        ("Is it all right if I bring a dog?", "Dogs are welcome if on a leash.", 2.0, True, False),
        ("Darf ich kommen?", "Gäste kommen nur mit Ausweis.", 2.0, True, False),
        ("Was it on 11 November?", "It was on 18 November.", 2.0, True, False),
        ("Does it work with Alexa?", "It does not work with Alexa; Google Home is supported.", 0.0, False, True),
        ("Is it with Google Home?", "It is not with Alexa; Google Home is supported.", 0.0, True, True),
        ("Is water included?", "Water is included; internet is not.", 0.0, True, True),
        ("Is the gym closed?", "The gym stays open, but the changing rooms are closed.", 2.0, True, False),
        ("Do juniors pay the fee?", "New members pay a fee; juniors are exempt from it.", 2.0, True, False),
    ],
)
def test_what_a_sentence_bears(question: str, sentence: str, log_odds: float, is_yes: bool, is_borne: bool) -> None:
    assert yes_or_no(question, sentence, 0, 5, log_odds) == (is_yes, is_borne)

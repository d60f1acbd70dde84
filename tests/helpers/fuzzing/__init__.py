"""A fuzzer of the command line: odd files, options, schemes and saved files, by Hypothesis.

    python -m fuzzing --tries 10000 --shell 500

tries commands and prints what became of them; `make fuzz` is that. What it looks for: a traceback,
a hang, a crash, an answer with NaN in it, a refusal that is not one plain sentence.
"""

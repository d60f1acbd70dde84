"""`evenhand demo`: Figure 1 of the paper, scored."""

from __future__ import annotations

from evenhand.cli.output import JsonOption, print_json, print_table


def demo(as_json: JsonOption = False) -> None:
    """Two ways to ship 80,000 vaccines: equal at the end, and unequal on the way.

    Example: evenhand demo --json
    """
    from evenhand import Equality, Mean, Parity, Trace, anytime, long_term

    countries = ("A", "B")
    processes = {
        "A first, then B": [[20_000, 0], [20_000, 0], [0, 20_000], [0, 20_000]],
        "side by side": [[10_000, 10_000]] * 4,
    }
    questions = {
        "equal at the end? (1 is yes)": long_term(Equality()),
        "equal every month? (share of months)": anytime(Equality(), Mean()),
        "gap between A and B, monthly mean": anytime(Parity(), Mean()),
    }
    traces = {
        name: Trace(rewards=rewards, stakeholders=countries)  # type: ignore[arg-type]
        for name, rewards in processes.items()
    }
    scores = {
        question: {name: scheme.score(trace) for name, trace in traces.items()}
        for question, scheme in questions.items()
    }
    overall = {
        name: anytime(Parity()).assess(trace).overall_unfairness() for name, trace in traces.items()
    }
    if as_json:
        print_json({"scores": scores, "overall_unfairness": overall})
        return
    rows = [(question, *(f"{s:,.2f}" for s in by.values())) for question, by in scores.items()]
    for country in countries:
        row = (f"{by[country]:+,.0f}" if by[country] else "0" for by in overall.values())
        rows.append((f"overall unfairness to {country} (below 0 is unfair to it)", *row))
    print_table("80,000 vaccines for two countries, shipped monthly", ("", *processes), rows)
    print(
        "\nBoth processes end with 40,000 each. Only the assessment on the way tells them apart:\n"
        "the first leaves B behind for three months of four."
    )

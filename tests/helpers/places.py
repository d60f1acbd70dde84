"""Where things lie: the project itself, and the real logs beside it, which are not in a clone."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "evenhand"
SYSTEM = ROOT / "tests" / "system"
VACCINATIONS = ROOT.parent / "shared" / "data" / "us_state_vaccinations.csv"
SERVING = ROOT.parent / "shared" / "data" / "llm_serving"

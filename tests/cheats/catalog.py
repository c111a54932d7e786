"""All cheats and all honest work, by name."""

from tests.cheats import configured, detecting, honest, rebound, reworked, telling, unnoticed, weakened
from tests.cheats.case import Case

CHEATS: dict[str, Case] = {
    case.name: case
    for module in (weakened, rebound, configured, detecting, telling, unnoticed)
    for case in module.CASES
}
HONEST: dict[str, Case] = {case.name: case for module in (honest, reworked) for case in module.CASES}
EVERYTHING = CHEATS | HONEST

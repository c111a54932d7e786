"""Waits at another machine for news of its agents: one command for all of them, which ends when there is news.

It tells of each agent whether it has published, asks for permission, waits, or has lost its program. It looks once a
second, and ends without news after a while, so that no command is left for long when nobody listens any more. Any
agent there may have written what it prints: it is only a suspicion.
"""

import re
from collections.abc import Mapping

from supervisor.adapters.layout import PUBLISHED
from supervisor.ports import Picture, Sign

#: How long such a command waits.
WAIT_SECONDS = 120.0

_SIGNS: Mapping[str, Sign] = {"p": "published", "a": "asks", "w": "waits", "g": "gone"}
_LINE = re.compile(r"(agent-[0-9a-f]{32}) -([pawg]*)")
_SUM = re.compile(r"[0-9]{1,12} [0-9]{1,12}")
#: An agent is gone when the shell of its pane has no child; every fifth look asks tmux, as `tmux_signs` does here.
_LOOK = f"""
cd "$MNGR_AGENT_STATE_DIR/.." || exit 1
panes() {{ tmux list-panes -a -F '#{{@mngr_agent_id}} #{{pane_pid}} #{{pane_dead}}' 2>/dev/null; }}
has_program() {{
  children=
  read -r children 2>/dev/null < "/proc/$1/task/$1/children"
  [ -n "$children" ]
}}
at_work() {{
  [ -r "/proc/$$/task/$$/children" ] && command -v tmux >/dev/null || {{ echo unknown; return; }}
  panes | while read -r agent pid dead; do [ "$dead" = 0 ] && has_program "$pid" && printf ' %s ' "$agent"; done
}}
look() {{
  for agent in agent-*; do
    signs=
    [ -f "$agent/{PUBLISHED}" ] && signs=p
    [ -e "$agent/permissions_waiting" ] && signs=${{signs}}a
    [ -e "$agent/active" ] || signs=${{signs}}w
    case "$working" in unknown|*" $agent "*) ;; *) signs=${{signs}}g ;; esac
    echo "$agent -$signs"
  done
}}
"""
_WAIT = """
working=$(at_work) now=$(look)
if [ "$(printf %s "$now" | cksum)" = 'LAST' ]; then
  was=$now left=SECONDS
  while [ "$left" -gt 0 ] && [ "$now" = "$was" ]; do
    sleep 1
    left=$((left - 1))
    [ $((left % 5)) -ne 0 ] || working=$(at_work)
    now=$(look)
  done
fi
printf %s "$now" | cksum
printf '%s\\n' "$now"
echo looked
"""


def waiting(last: Picture, seconds: float = WAIT_SECONDS) -> str:
    """The command that ends when the picture differs from `last`."""
    return _LOOK + _WAIT.replace("LAST", last.sum).replace("SECONDS", f"{seconds:.0f}")


def pictured(said: str) -> Picture | None:
    """The picture that the command printed; None: it could not look."""
    first, *lines = said.strip().splitlines() or [""]
    if not lines or lines[-1].strip() != "looked" or not _SUM.fullmatch(first.strip()):
        return None
    found = [match for line in lines if (match := _LINE.fullmatch(line.strip()))]
    return Picture(first.strip(), {one[1]: frozenset(_SIGNS[letter] for letter in one[2]) for one in found})

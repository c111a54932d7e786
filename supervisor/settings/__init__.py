"""The configuration: flags, environment, file and defaults become one frozen object.

A key's value comes from the first of these that has one: flag, `SUPERVISOR_…`, file, default. Tables are merged key
by key, lists are replaced. Names are written as in the file; in the environment `__` stands between a table and its
key (`SUPERVISOR_MNGR__WARM=false`, `SUPERVISOR_PROFILES__OVERNIGHT__SLOTS=3`), and lists are JSON.
"""

from supervisor.settings.alerting import rules as alert_rules
from supervisor.settings.loading import load, origins
from supervisor.settings.policies import policy_for
from supervisor.settings.profiles import pool_specs, resolve
from supervisor.settings.scheduling import schedules
from supervisor.settings.showing import shown
from supervisor.settings.tables import Settings

__all__ = ["Settings", "alert_rules", "load", "origins", "policy_for", "pool_specs", "resolve", "schedules", "shown"]

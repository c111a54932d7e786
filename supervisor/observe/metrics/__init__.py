"""Metrics for Prometheus, by its conventions: base units, no ids in labels, every label of a known, small set.

Theory of operation. What *is* is read from the state when somebody asks (`gauges`), at a cost that does not grow with
the number of jobs. What *happens* is counted as it happens (`meters`): the loop's events, the calls on devices, the
lag of the event loop. Counters begin at zero with the daemon, as Prometheus expects; how long jobs are in each stage
is folded from the events (`stages`). `exposition` puts all of it into the text that Prometheus reads.
"""

"""Metrics for Prometheus, by its conventions: base units, no ids in labels, every label of a known, small set.

Theory of operation. Gauges are read from the state at each scrape (`gauges`), at a cost that does not grow with the
number of jobs. Counters and histograms are updated as things happen (`meters`): the loop's events, the calls on
devices, the lag of the event loop. Counters start at zero with the daemon, as Prometheus expects; the time of jobs in
each stage is folded from the events (`stages`). `exposition` renders all of it as the text that Prometheus reads.
"""

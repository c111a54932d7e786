"""Traces for OpenTelemetry: what each attempt took, step by step, folded from the journal's events.

Theory of operation. A trace is one attempt: a root span, and in it `launch`, `work`, `collect` and `verify`, from the
times of the events. It is told when the attempt is over: its job has gone on, and its agent is put away, so that
nothing is added to it later. An integration is a trace of its own, with links to the attempts whose work it took.

The ids of traces and spans are computed from the installation, the batch, the job and the attempt. So whoever folds
the same events again gets the same spans, and a span that is told twice is recognised as one. What the fold remembers
between events (`memory`) is plain data, which its follower keeps together with the number of the last event.
"""

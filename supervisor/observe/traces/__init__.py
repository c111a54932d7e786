"""Traces for OpenTelemetry: what each attempt took, step by step, folded from the journal's events.

Theory of operation. A trace is one attempt: a root span, and in it `launch`, `work`, `collect` and `verify`, with the
times of the events. It is exported when the attempt is over, that is, when its job has gone on and its agent is put
away, so that nothing is added to it later. An integration is a separate trace, with links to the attempts whose work
it merged.

The ids of traces and spans are computed from the installation, the batch, the job and the attempt. So folding the
same events again gives the same spans, and a span that is exported twice is recognised as one. The fold's memory
between events (`memory`) is plain data, which its follower stores together with the number of the last event.
"""

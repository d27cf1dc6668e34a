// The two tracepoints of the peer. They carry nothing but their name, as ours.

#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER sonde_peer

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "provider.h"

#if !defined(SONDE_TESTS_BENCH_LTTNG_PROVIDER_H_) || \
    defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define SONDE_TESTS_BENCH_LTTNG_PROVIDER_H_

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(sonde_peer, begin, LTTNG_UST_TP_ARGS(),
                           LTTNG_UST_TP_FIELDS())
LTTNG_UST_TRACEPOINT_EVENT(sonde_peer, end, LTTNG_UST_TP_ARGS(),
                           LTTNG_UST_TP_FIELDS())

#endif

#include <lttng/tracepoint-event.h>

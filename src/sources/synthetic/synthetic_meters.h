/* synthetic_meters.h: meters and sensors of a synthetic machine. */
#ifndef PMTOP_SOURCES_SYNTHETIC_SYNTHETIC_METERS_H
#define PMTOP_SOURCES_SYNTHETIC_SYNTHETIC_METERS_H

#include <stdint.h>

struct sample_set;
struct synthetic;

void synthetic_describe_meters(const struct synthetic *synthetic, int64_t now_ns, struct sample_set *out);
void synthetic_emit_meters(struct synthetic *synthetic, int64_t now_ns, struct sample_set *out);

#endif

/* profile_kinds.h: what the categories and names of events mean. */
#ifndef PMTOP_TRACE_PROFILE_KINDS_H
#define PMTOP_TRACE_PROFILE_KINDS_H

#include "src/trace/store/profile_names.h"

enum profile_trait {
	TRAIT_KNOWN = 1,          /* the traits below were looked up */
	TRAIT_DATA = 2,           /* host: waits for the DataLoader */
	TRAIT_SYNC = 4,           /* host: waits for the GPU (cudaStreamSynchronize, .item()) */
	TRAIT_COPY = 8,           /* host: starts a copy, or performs it */
	TRAIT_COMMUNICATION = 16, /* host or kernel: NCCL, RCCL, gloo, c10d */
	TRAIT_LAUNCH = 32,        /* host: launches a kernel */
	TRAIT_ITEM = 64,          /* host: .item(), a sync by the program */
	TRAIT_MATRIX = 128,       /* kernel: matrix product or convolution */
	TRAIT_TENSOR_CORE = 256,  /* kernel: uses tensor cores */
	TRAIT_LAYOUT = 512,       /* kernel: converts between NCHW and NHWC */
	TRAIT_ELEMENTWISE = 1024, /* kernel: elementwise, a candidate for fusion */
	TRAIT_SETUP = 4096,       /* host: creates a context, allocates from the driver, loads kernels */
	TRAIT_GRAPH = 8192,       /* host: launches a graph of kernels */
	TRAIT_ASYNC = 16384,      /* host: no work of the thread, but the time until something is done */
	TRAIT_HIDDEN = 2048,      /* host: a utility operator that key_averages leaves out */
};

/* enum profile_kind of a category; -1: pmtop ignores it; PROFILE_KIND_COUNT: not one of PyTorch's. */
int profile_category_kind(struct profile_slice category);
/* A set of enum profile_trait, stored with the name. */
unsigned profile_name_traits(struct profile_names *names, uint32_t name);

enum profile_direction { COPY_HTOD, COPY_DTOH, COPY_DTOD, COPY_PTOP, COPY_HTOH, COPY_SET, COPY_OTHER };
extern const char *const profile_direction_names[];
enum profile_direction profile_copy_direction(const struct profile_names *names, uint32_t name);
/* 1 = pinned, 0 = pageable, -1 = unknown. */
int profile_copy_is_pinned(const struct profile_names *names, uint32_t name);
/* From pageable memory to a GPU. */
bool profile_copy_is_pageable_upload(const struct profile_names *names, uint32_t name);

#endif

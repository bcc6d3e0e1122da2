#include "src/sources/collectives/flight_world.h"

#include <stddef.h>
#include <string.h>

#include "src/sources/python/remote.h"

enum { WORLD_SIZE_MAX = 1 << 20 };

/* std::map<std::string, c10::weak_intrusive_ptr<c10d::ProcessGroup>>. */
struct map {
	uint64_t compare, colour, root, leftmost, rightmost, count;
};

struct node {
	uint64_t colour, parent, left, right;
	struct {
		uint64_t begin, length;
		char text[16];
	} name;
	uint64_t group;
};

/* The begin of c10d::ProcessGroup. */
struct group {
	uint64_t functions;
	uint32_t references, weak_references;
	uint64_t store;
	int32_t rank, size;
};

/* The default group's name is "0", which sorts first: other groups have higher numbers, or hashes. */
static bool read_first(pid_t pid, uint64_t registry, struct node *out)
{
	struct map map;
	if (!remote_read(pid, registry, &map, sizeof map) || map.count == 0 || !map.leftmost ||
		!remote_read(pid, map.leftmost, out, sizeof *out))
		return false;
	return out->left == 0 && out->name.begin == map.leftmost + offsetof(struct node, name.text) &&
		out->name.length == 1 && memcmp(out->name.text, "0", 2) == 0;
}

bool flight_world_read(pid_t pid, uint64_t registry, struct flight_world *out)
{
	struct node node;
	struct group group;
	if (!read_first(pid, registry, &node) || !remote_read(pid, node.group, &group, sizeof group))
		return false;
	if (!group.functions || !group.references || !group.weak_references || !group.store || group.rank < 0 ||
		group.rank >= group.size || group.size > WORLD_SIZE_MAX)
		return false;
	*out = (struct flight_world){ (uint32_t)group.rank, (uint32_t)group.size };
	return true;
}

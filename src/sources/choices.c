#include "src/sources/choices.h"

#include "src/sources/target/target.h"

const struct source_choices *source_choices(const struct target *target)
{
	static const struct source_choices standard;
	return target && target->choices ? target->choices : &standard;
}

// The anchor of bench_trace.py: simdjson's on-demand parser reads the same file, the fields that an analysis needs, and sums times by name.
#include <simdjson.h>

#include <cstdio>
#include <string>
#include <unordered_map>

using namespace simdjson;

int main(int, char **arguments)
{
	ondemand::parser parser;
	padded_string json = padded_string::load(arguments[1]);
	ondemand::document document = parser.iterate(json);
	std::unordered_map<std::string, double> sums;
	unsigned long long links = 0, events = 0;
	for (ondemand::object event : document["traceEvents"]) {
		std::string_view name, category, phase;
		double start = 0, duration = 0;
		events++;
		for (auto field : event) {
			std::string_view key = field.unescaped_key();
			if (key == "name")
				name = field.value().get_string();
			else if (key == "cat")
				category = field.value().get_string();
			else if (key == "ph")
				phase = field.value().get_string();
			else if (key == "ts")
				start = field.value().get_double();
			else if (key == "dur")
				duration = field.value().get_double();
			else if (key == "args")
				for (auto argument : field.value().get_object()) {
					std::string_view argument_key = argument.unescaped_key();
					if (argument_key == "correlation" || argument_key == "External id")
						links += argument.value().get_uint64().value();
				}
		}
		if (phase == "X")
			sums[std::string(name)] += duration + 0 * start;
	}
	std::printf("%llu events, %zu names, %llu\n", events, sums.size(), links);
}

/* version.h - what every result says it came from. */
#ifndef PIPELINE_CORE_VERSION_H
#define PIPELINE_CORE_VERSION_H

#define PIPELINE_VERSION "0.1.0"

#endif

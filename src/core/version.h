/* version.h - the version that every result names. */
#ifndef PIPELINE_CORE_VERSION_H
#define PIPELINE_CORE_VERSION_H

#define PIPELINE_VERSION "0.1.0"

#endif

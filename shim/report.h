/* report.h - FASTSHA_REPORT: one JSON line per process, appended at its end */
#ifndef REPORT_H
#define REPORT_H

/* Starts counting, and has the line appended to PATH when the process exits. Called once, before doors are opened. */
void report_start(const char *path);

#endif

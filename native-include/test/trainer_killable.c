/* The example trainer with places to die: see check.h. */
#include "check.h"

#include "../example/trainer.c"

from megatron.bridge.recipes.toy import *

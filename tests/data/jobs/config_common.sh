export FP8=True
export USE_DIST_OPTIMIZER=True

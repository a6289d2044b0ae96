"""Figures that rpart published, and the rows behind them, from the data sets of R and of rpart itself.

The rows are those in the repository vincentarelbundock/Rdatasets at 1c97ab8a (csv/rpart and csv/datasets).
Every text begins with the names of the columns; rows follow, with commas between them, in their order.
"""

import pandas as pd

# 81 children after an operation on the spine: is a kyphosis (a)bsent or (p)resent?
KYPHOSIS = """Age Number Start Kyphosis,
    71 3 5 a, 158 3 14 a, 128 4 5 p, 2 5 1 a, 1 4 15 a, 1 2 16 a, 61 2 17 a, 37 3 16 a, 113 2 16 a,
    59 6 12 p, 82 5 14 p, 148 3 16 a, 18 5 2 a, 1 4 12 a, 168 3 18 a, 1 3 16 a, 78 6 15 a, 175 5 13 a,
    80 5 16 a, 27 4 9 a, 22 2 16 a, 105 6 5 p, 96 3 12 p, 131 2 3 a, 15 7 2 p, 9 5 13 a, 8 3 6 a,
    100 3 14 a, 4 3 16 a, 151 2 16 a, 31 3 16 a, 125 2 11 a, 130 5 13 a, 112 3 16 a, 140 5 11 a,
    93 3 16 a, 1 3 9 a, 52 5 6 p, 20 6 9 a, 91 5 12 p, 73 5 1 p, 35 3 13 a, 143 9 3 a, 61 4 1 a,
    97 3 16 a, 139 3 10 p, 136 4 15 a, 131 5 13 a, 121 3 3 p, 177 2 14 a, 68 5 10 a, 9 2 17 a,
    139 10 6 p, 2 2 17 a, 140 4 15 a, 72 5 15 a, 2 3 13 a, 120 5 8 p, 51 7 9 a, 102 3 13 a, 130 4 1 p,
    114 7 8 p, 81 4 1 a, 118 3 16 a, 118 4 16 a, 17 4 10 a, 195 2 17 a, 159 4 13 a, 18 4 11 a, 15 5 16 a,
    158 5 14 a, 127 4 12 a, 87 4 16 a, 206 4 10 a, 11 3 15 a, 178 4 15 a, 157 3 13 p, 26 7 13 a,
    120 2 13 a, 42 7 6 p, 36 4 13 a
"""

# car.test.frame: 60 cars of 1990, without the columns that have gaps or that no figure here needs. Countries
# by their initials (W: Sweden, JU: Japan and USA), and types too (Y: sporty).
CARS = """Weight Price Country Type Mileage,
    2560 8895 U S 33, 2345 7402 U S 33, 1845 6319 K S 37, 2260 6635 JU S 32, 2440 6599 J S 32,
    2285 8672 M S 26, 2275 7399 JU S 33, 2350 7254 K S 28, 2295 9599 J S 25, 1900 5866 J S 34,
    2390 8748 JU S 29, 2075 6488 J S 35, 2330 9995 G S 26, 3320 11545 U Y 20, 2885 9745 U Y 27,
    3310 12164 U Y 19, 2695 11470 U Y 30, 2170 9410 J Y 33, 2710 13945 J Y 27, 2775 13249 J Y 24,
    2840 10855 U Y 26, 2485 13071 J Y 28, 2670 18900 G C 27, 2640 10565 U C 23, 2655 10320 U C 26,
    3065 10945 U C 25, 2750 9483 U C 24, 2920 12145 JU C 26, 2780 12459 JU C 24, 2745 10989 J C 25,
    3110 17879 J C 21, 2920 11650 J C 21, 2645 9995 U C 23, 2575 15930 F C 24, 2935 11499 JU C 23,
    2920 11588 JU C 27, 2985 18450 W C 23, 3265 24760 J M 20, 2880 13150 U M 21, 2975 12495 U M 22,
    3450 16342 U M 22, 3145 15350 U M 22, 3190 13195 U M 22, 3610 14980 U M 23, 2885 9999 K M 23,
    3480 23300 J M 21, 3200 17899 J M 22, 2765 13150 U M 21, 3220 14495 U M 21, 3480 21498 J M 23,
    3325 16145 U L 23, 3855 14525 U L 18, 3850 17257 U L 20, 3195 13995 U V 18, 3735 15395 U V 18,
    3665 12267 U V 18, 3735 14944 J V 19, 3415 14929 J V 20, 3185 13949 J V 20, 3690 14799 J V 19
"""

# cu.summary: the 85 cars of 1990 whose reliability, from 1 (much worse) to 5, is known. The number that
# each has among all 117 comes last: the folds of the cross-validation go by it.
RELIABILITY = """Price Country Type Reliability Number,
    11950 J S 5 0, 6995 U S 1 2, 8895 U S 4 3, 7402 U S 2 4, 6319 K S 4 5, 10125 JU S 5 7, 6635 JU S 5 8,
    5899 K S 2 9, 6599 J S 5 10, 8672 M S 4 11, 5899 K S 2 12, 7399 JU S 5 13, 7254 K S 1 14,
    9599 J S 5 15, 8748 JU S 5 17, 6488 J S 5 18, 8695 M S 3 20, 9995 G S 3 21, 10995 U Y 1 22,
    11545 U Y 1 23, 31979 U Y 1 24, 9745 U Y 1 25, 12895 U Y 1 26, 9456 U Y 1 28, 12164 U Y 1 29,
    11470 U Y 3 30, 14726 U Y 3 31, 9410 J Y 5 33, 13945 J Y 5 34, 12279 JU Y 5 36, 17880 J Y 5 37,
    13249 J Y 3 38, 12249 J Y 3 40, 22860 J Y 4 45, 24650 G C 4 50, 10565 U C 2 51, 10320 U C 1 52,
    8620 U C 1 53, 10945 U C 4 54, 8845 U C 3 55, 9483 U C 2 56, 12145 JU C 5 57, 12459 JU C 4 58,
    31600 G C 3 59, 10989 J C 5 60, 17879 J C 4 61, 11650 J C 5 62, 9995 U C 2 63, 16995 W C 2 65,
    26945 W C 2 66, 11499 JU C 5 67, 11588 JU C 5 68, 18450 W C 3 69, 24760 J M 5 70, 13150 U M 3 73,
    23040 U M 3 74, 28855 U M 3 75, 25495 U M 3 77, 12495 U M 2 78, 16342 U M 3 79, 12995 U M 3 80,
    15350 U M 2 81, 12640 U M 1 82, 13195 U M 3 83, 14980 U M 1 84, 29422 U M 2 88, 29246 U M 1 89,
    23300 J M 5 90, 39950 G M 1 91, 17899 J M 5 92, 13150 U M 2 93, 21498 J M 3 98, 21700 W M 3 99,
    20225 U L 3 100, 16145 U L 3 101, 27400 U L 1 102, 26960 U L 3 103, 14525 U L 1 104, 17257 U L 3 105,
    27986 U L 3 106, 13790 U V 1 107, 11995 U V 3 109, 15395 U V 3 110, 12267 U V 3 111, 14944 J V 5 112
"""

# stagec: 146 patients with prostate cancer (1: it progressed), and the columns without gaps.
STAGE_C = """Age Grade Ploidy Progressed,
    64 2 D 0, 62 3 A 0, 59 3 D 1, 62 2 D 1, 64 4 T 1, 69 3 D 0, 75 2 T 0, 71 3 A 0, 73 3 D 1, 64 3 T 0,
    65 3 T 0, 58 4 T 1, 70 3 D 1, 67 2 T 0, 66 3 T 1, 74 3 D 1, 70 2 D 0, 57 2 T 0, 63 3 T 0, 65 3 T 0,
    62 2 T 0, 72 3 T 1, 64 2 D 0, 67 2 T 1, 64 2 T 1, 70 3 T 1, 58 3 T 1, 57 3 D 0, 54 2 T 1, 61 3 T 0,
    68 2 T 1, 64 3 A 0, 70 2 D 0, 64 2 T 0, 66 3 T 0, 61 2 D 0, 70 2 T 0, 63 2 D 1, 59 3 A 1, 66 3 T 1,
    53 2 T 0, 62 3 D 1, 69 2 D 0, 63 3 D 0, 61 2 D 0, 70 1 D 0, 61 3 D 0, 62 2 D 0, 55 2 D 0, 61 2 D 0,
    63 3 T 0, 67 2 D 0, 59 2 T 0, 58 3 T 0, 61 4 D 1, 47 4 D 1, 65 3 T 0, 56 1 D 0, 63 2 D 0, 69 3 A 1,
    50 3 T 1, 70 2 T 0, 55 3 A 1, 55 2 D 0, 62 2 D 0, 66 2 T 1, 71 2 D 0, 63 2 T 0, 54 2 D 0, 65 2 D 0,
    59 2 D 0, 61 3 T 1, 65 3 D 0, 57 3 T 1, 69 2 D 0, 53 3 T 1, 48 3 T 1, 57 3 T 0, 63 3 T 1, 52 2 D 0,
    57 3 T 1, 62 3 D 1, 54 2 D 0, 67 3 D 1, 65 3 T 1, 67 3 D 0, 72 2 D 0, 66 3 T 1, 72 2 D 0, 60 3 T 1,
    70 2 T 0, 63 2 D 0, 64 2 D 0, 62 3 T 1, 61 3 T 1, 64 3 T 1, 64 3 T 0, 68 3 T 0, 62 2 D 0, 69 3 D 0,
    59 3 T 0, 66 3 T 1, 53 3 T 1, 59 2 D 0, 58 2 T 1, 61 2 T 0, 65 3 T 1, 67 3 T 0, 57 3 T 1, 55 3 A 1,
    57 3 A 1, 57 3 T 0, 68 2 T 0, 67 2 D 0, 60 4 A 1, 63 3 T 0, 69 3 D 0, 54 3 D 0, 66 2 D 0, 59 3 D 0,
    62 3 T 0, 73 3 T 0, 65 3 D 1, 67 3 T 1, 75 3 D 0, 70 3 T 1, 59 2 D 0, 73 3 D 0, 66 2 T 1, 66 3 D 0,
    65 3 A 1, 66 2 T 0, 66 3 T 0, 59 3 D 0, 52 2 D 0, 68 2 D 0, 63 3 D 0, 67 2 T 0, 59 2 D 0, 57 3 D 0,
    62 3 D 0, 63 2 D 0, 73 4 T 1, 68 2 A 0, 51 3 D 0, 56 3 D 1
"""

# state.x77 and state.region: the 50 states of the USA in the 1970s, in (E)ast, (S)outh, (C)entre and (W)est.
STATES = """Population Region Illiteracy Life Murder Graduates Frost Income,
    3615 S 2.1 69.05 15.1 41.3 20 3624, 365 W 1.5 69.31 11.3 66.7 152 6315,
    2212 W 1.8 70.55 7.8 58.1 15 4530, 2110 S 1.9 70.66 10.1 39.9 65 3378,
    21198 W 1.1 71.71 10.3 62.6 20 5114, 2541 W 0.7 72.06 6.8 63.9 166 4884,
    3100 E 1.1 72.48 3.1 56 139 5348, 579 S 0.9 70.06 6.2 54.6 103 4809,
    8277 S 1.3 70.66 10.7 52.6 11 4815, 4931 S 2 68.54 13.9 40.6 60 4091, 868 W 1.9 73.6 6.2 61.9 0 4963,
    813 W 0.6 71.87 5.3 59.5 126 4119, 11197 C 0.9 70.14 10.3 52.6 127 5107,
    5313 C 0.7 70.88 7.1 52.9 122 4458, 2861 C 0.5 72.56 2.3 59 140 4628,
    2280 C 0.6 72.58 4.5 59.9 114 4669, 3387 S 1.6 70.1 10.6 38.5 95 3712,
    3806 S 2.8 68.76 13.2 42.2 12 3545, 1058 E 0.7 70.39 2.7 54.7 161 3694,
    4122 S 0.9 70.22 8.5 52.3 101 5299, 5814 E 1.1 71.83 3.3 58.5 103 4755,
    9111 C 0.9 70.63 11.1 52.8 125 4751, 3921 C 0.6 72.96 2.3 57.6 160 4675,
    2341 S 2.4 68.09 12.5 41 50 3098, 4767 C 0.8 70.69 9.3 48.8 108 4254,
    746 W 0.6 70.56 5 59.2 155 4347, 1544 C 0.6 72.6 2.9 59.3 139 4508,
    590 W 0.5 69.03 11.5 65.2 188 5149, 812 E 0.7 71.23 3.3 57.6 174 4281,
    7333 E 1.1 70.93 5.2 52.5 115 5237, 1144 W 2.2 70.32 9.7 55.2 120 3601,
    18076 E 1.4 70.55 10.9 52.7 82 4903, 5441 S 1.8 69.21 11.1 38.5 80 3875,
    637 C 0.8 72.78 1.4 50.3 186 5087, 10735 C 0.8 70.82 7.4 53.2 124 4561,
    2715 S 1.1 71.42 6.4 51.6 82 3983, 2284 W 0.6 72.13 4.2 60 44 4660,
    11860 E 1 70.43 6.1 50.2 126 4449, 931 E 1.3 71.9 2.4 46.4 127 4558,
    2816 S 2.3 67.96 11.6 37.8 65 3635, 681 C 0.5 72.08 1.7 53.3 172 4167,
    4173 S 1.7 70.11 11 41.8 70 3821, 12237 S 2.2 70.9 12.2 47.4 35 4188,
    1203 W 0.6 72.9 4.5 67.3 137 4022, 472 E 0.6 71.64 5.5 57.1 168 3907,
    4981 S 1.4 70.08 9.5 47.8 85 4701, 3559 W 0.6 71.72 4.3 63.5 32 4864,
    1799 S 1.4 69.48 6.7 41.6 100 3617, 4589 C 0.7 72.48 3 54.5 149 4468,
    376 W 0.6 70.29 6.9 62.9 173 4566
"""

# Rows, mean and mean squared error at every node, by what leads to it.
MEANS = {
    "weight": {
        "root": (60, 24.58333, 1354.583 / 60),
        "Weight>=2567.5": (45, 22.46667, 361.2 / 45),
        "Weight>=3087.5": (22, 20.40909, 61.31818 / 22),
        "Weight<3087.5": (23, 24.43478, 117.6522 / 23),
        "Weight>=2747.5": (15, 23.8, 60.4 / 15),
        "Weight<2747.5": (8, 25.625, 39.875 / 8),
        "Weight<2567.5": (15, 30.93333, 186.9333 / 15),
    },
    # Mileage ~ Price + Country + Reliability + Type of cu.summary, from course notes: these 60 cars
    # are the ones in it that have a mileage, and the reliability, which has gaps, was not used.
    "price": {
        "root": (60, 24.58333, 22.57639),
        "Price>=9446.5": (48, 22.70833, 8.498264),
        "Price<9446.5": (12, 32.08333, 8.576389),
        "Type=L,M,V": (23, 20.69565, 2.907372),
        "Type=C,S,Y": (25, 24.56, 6.4864),
        "Type=L,V": (10, 19.3, 2.21),
        "Type=M": (13, 21.76923, 0.7928994),
        "Price>=11484.5": (14, 23.85714, 7.693878),
        "Price<11484.5": (11, 25.45455, 3.520661),
    },
    # rpart shows four digits, and 3990, 1374 and 70.26 for the cuts that have more.
    "states": {
        "root": (50, 4436, 3.7e5),
        "Graduates<44.3": (10, 3640, 6.688e4),
        "Graduates>=44.3": (40, 4635, 2.477e5),
        "Population<3989.5": (7, 3516, 3.844e4),
        "Population>=3989.5": (3, 3929, 1.361e4),
        "Life>=70.255": (34, 4530, 1.69e5),
        "Life<70.255": (6, 5230, 2.768e5),
        "Population<1373.5": (12, 4276, 1.942e5),
        "Population>=1373.5": (22, 4668, 1.01e5),
        "Population>=994.5": (3, 3772, 3.261e4),
        "Population<994.5": (9, 4444, 1.353e5),
        "Graduates<52.05": (4, 4218, 2.77e4),
        "Graduates>=52.05": (18, 4768, 6.236e4),
        "Region=C": (8, 4590, 1.009e4),
        "Region=E,S,W": (10, 4911, 5.832e4),
        "Frost<109": (7, 4806, 2.969e4),
        "Frost>=109": (3, 5156, 3.914e4),
    },
}

# CP, number of splits, relative error.
CP_TABLES = {
    "kyphosis": [(0.17647059, 0, 1.0), (0.01960784, 1, 0.8235294), (0.01, 4, 0.7647059)],
    "weight": [
        (0.59534912, 0, 1.0),
        (0.13452819, 1, 0.4046509),
        (0.01282843, 2, 0.2701227),
        (0.01, 3, 0.2572943),
    ],
    "price": [
        (0.62288527, 0, 1.0),
        (0.13206061, 1, 0.3771147),
        (0.02544094, 2, 0.2450541),
        (0.01160389, 3, 0.2196132),
        (0.01, 4, 0.2080093),
    ],
    "reliability": [
        (0.30508, 0, 1.0),
        (0.08475, 1, 0.6949),
        (0.05085, 2, 0.6102),
        (0.03390, 3, 0.5593),
        (0.01, 4, 0.5254),
    ],
    "states": [
        (0.42831, 0, 1.0),
        (0.13514, 1, 0.5717),
        (0.06458, 2, 0.4365),
        (0.05485, 3, 0.3720),
        (0.05346, 4, 0.3171),
        (0.02479, 5, 0.2637),
        (0.01940, 6, 0.2389),
        (0.01394, 7, 0.2195),
        (0.01, 8, 0.2055),
    ],
}

# How much the best question on one column alone gains at the root: for classes in units of n * gini, for
# numbers as a fraction of the squared error.
GAINS = {
    ("kyphosis", "Start"): 6.762330,
    ("kyphosis", "Number"): 2.866795,
    ("kyphosis", "Age"): 2.250212,
    ("price", "Price"): 0.6228853,
    ("price", "Type"): 0.5044405,
    ("price", "Country"): 0.1243525,
    ("states", "Graduates"): 0.4283,
    ("states", "Illiteracy"): 0.3249,
    ("states", "Region"): 0.2285,
    ("states", "Murder"): 0.2012,
    ("states", "Life"): 0.1672,
    ("reliability", "Country"): 15.22,
    ("reliability", "Type"): 4.288,
    ("reliability", "Price"): 3.200,
}


def frame(text: str) -> pd.DataFrame:
    """The rows of one of the texts above."""
    names, *rows = (row.split() for row in text.split(","))
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    return pd.DataFrame(
        {name: list(map(float, cells)) if cells[0][0].isdigit() else cells for name, cells in columns.items()}
    )

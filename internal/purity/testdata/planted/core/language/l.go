package language
